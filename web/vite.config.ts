import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { svelte } from "@sveltejs/vite-plugin-svelte";
import { defineConfig } from "vitest/config";
import type { Plugin } from "vite";

const OUT = "../src/rl_insight/serve/static";

/** Compresses the build once, so that the server never has to. */
function precompress(): Plugin {
  return {
    name: "precompress",
    apply: "build",
    writeBundle() {
      for (const entry of readdirSync(OUT, { recursive: true, encoding: "utf-8" })) {
        const path = join(OUT, entry);
        if (!statSync(path).isFile() || !/\.(html|js|css|svg|json)$/.test(path)) continue;
        const content = readFileSync(path);
        writeFileSync(`${path}.gz`, gzipSync(content, { level: 9 }));
        writeFileSync(
          `${path}.br`,
          brotliCompressSync(content, { params: { [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY } }),
        );
      }
    },
  };
}

export default defineConfig({
  base: "./",
  plugins: [svelte(), precompress()],
  resolve: { alias: { $lib: new URL("./src/lib", import.meta.url).pathname } },
  build: {
    outDir: OUT,
    emptyOutDir: true,
    target: "es2022",
    // Fonts and images stay files: the content security policy allows no data: scripts or styles.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
  },
  server: {
    proxy: {
      "/api": process.env.RL_INSIGHT_SERVER_URL ?? "http://127.0.0.1:18080",
      "/healthz": process.env.RL_INSIGHT_SERVER_URL ?? "http://127.0.0.1:18080",
    },
  },
  test: { include: ["src/**/*.test.ts"] },
});
