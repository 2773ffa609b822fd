import svelte from "eslint-plugin-svelte";
import globals from "globals";
import ts from "typescript-eslint";
import svelteConfig from "./svelte.config.js";

export default ts.config(
  { ignores: ["node_modules/", "../src/rl_insight/serve/static/"] },
  ...ts.configs.recommended,
  ...svelte.configs.recommended,
  { languageOptions: { globals: { ...globals.browser, ...globals.node } } },
  {
    files: ["**/*.svelte", "**/*.svelte.ts"],
    languageOptions: { parserOptions: { extraFileExtensions: [".svelte"], parser: ts.parser, svelteConfig } },
  },
  {
    rules: {
      // Recorded text is never HTML.
      "svelte/no-at-html-tags": "error",
      // Maps inside one derivation are values, not state.
      "svelte/prefer-svelte-reactivity": "off",
      "svelte/no-navigation-without-resolve": "off",
      "no-console": "error",
    },
  },
);
