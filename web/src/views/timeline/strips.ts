// Which metrics stand under the lanes when nobody has chosen.

const WORTH = [/queue_depth/, /tokens?(_|$)/, /cpu_ratio|gpu_util/, /kv_cache|running_req/, /memory_used/];

export function usualStrips(names: readonly string[]): string[] {
  const found: string[] = [];
  for (const pattern of WORTH) {
    const name = names.find((one) => pattern.test(one) && !found.includes(one));
    if (name) found.push(name);
  }
  return found.slice(0, 2);
}

export function chosenStrips(param: string | undefined, names: readonly string[]): string[] {
  if (param === undefined) return usualStrips(names);
  return param === "none" ? [] : param.split(",").filter(Boolean);
}
