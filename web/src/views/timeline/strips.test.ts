import { expect, test } from "vitest";
import { chosenStrips, usualStrips } from "./strips";

test("what engines show is offered before anything else but queues", () => {
  const names = ["loss", "node_cpu_ratio", "queue_depth", "vllm:generation_tokens_total", "vllm:kv_cache_usage_perc", "vllm:num_requests_running"];
  expect(usualStrips(names)).toEqual(["queue_depth", "vllm:num_requests_running", "vllm:kv_cache_usage_perc"]);
  expect(usualStrips(["sglang:num_running_reqs", "sglang:token_usage"])).toEqual(["sglang:num_running_reqs", "sglang:token_usage"]);
});

test("without engines two strips stand under the lanes, and a choice is kept", () => {
  expect(usualStrips(["queue_depth", "tokens", "node_cpu_ratio"])).toEqual(["queue_depth", "tokens"]);
  expect(chosenStrips("none", ["queue_depth"])).toEqual([]);
  expect(chosenStrips("vllm:a,b", [])).toEqual(["vllm:a", "b"]);
});
