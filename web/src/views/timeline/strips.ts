// Which metrics stand under the lanes when nobody has chosen.

// What engines show first: requests under way and how full their caches are, as vLLM and SGLang call it.
const WORTH = [
  /queue_depth/,
  /^(vllm:num_requests_running|sglang:num_running_reqs)$/,
  /^(vllm:(kv|gpu)_cache_usage_perc|sglang:token_usage)$/,
  /tokens?(_|$)/,
  /cpu_ratio|gpu_util/,
  /kv_cache|running_req/,
  /memory_used/,
];

export function usualStrips(names: readonly string[]): string[] {
  const found: string[] = [];
  for (const pattern of WORTH) {
    const name = names.find((one) => pattern.test(one) && !found.includes(one));
    if (name) found.push(name);
  }
  return found.slice(0, found.some((name) => name.includes(":")) ? 3 : 2);
}

export function chosenStrips(param: string | undefined, names: readonly string[]): string[] {
  if (param === undefined) return usualStrips(names);
  return param === "none" ? [] : param.split(",").filter(Boolean);
}
