import { defineConfig } from "oxlint";

export default defineConfig({
  plugins: ["eslint", "typescript", "unicorn", "oxc", "import", "promise", "node"],
  jsPlugins: ["./lint/boundaries-plugin.ts"],
  categories: { correctness: "error", suspicious: "error", perf: "error" },
  options: { typeAware: true, denyWarnings: true, reportUnusedDisableDirectives: "error" },
  env: { node: true, es2024: true },
  ignorePatterns: ["dist", "coverage"],
  rules: {
    "boundaries/imports": "error",
    "max-params": ["error", { max: 3 }],
    "max-lines": ["error", { max: 300, skipBlankLines: true, skipComments: true }],
    // It does not see type-only cycles; the table of import boundaries sees them between modules.
    "import/no-cycle": "error",
    "typescript/no-floating-promises": "error",
    "typescript/no-misused-promises": "error",
    "typescript/no-explicit-any": "error",
    // A Nest module is a class of nothing, with a decorator.
    "typescript/no-extraneous-class": ["error", { allowWithDecorator: true }],

    // Lanes, pages and retries are loops that wait on purpose.
    "no-await-in-loop": "off",
    // About windows and about promise chains; this is a server, and it awaits.
    "unicorn/require-post-message-target-origin": "off",
    "promise/always-return": "off",
    "promise/no-callback-in-promise": "off",
    "promise/no-promise-in-callback": "off",
    "import/no-named-as-default-member": "off",
    // TypeScript's noImplicitReturns does it, and knows when a switch has met every case.
    "typescript/consistent-return": "off",
    // Objects here are closures over their state: no method looks at `this`, so any may be handed on.
    "typescript/unbound-method": "off",
    // What the types promise, a program in plain JavaScript may break.
    "typescript/no-unnecessary-type-conversion": "off",
    // It does not see that a closure changes the variable while the loop waits.
    "no-unmodified-loop-condition": "off",
    // A branded type is made by an assertion; that is what a brand is.
    "typescript/no-unsafe-type-assertion": "off",
  },
  overrides: [
    {
      files: ["test/**"],
      rules: {
        "max-lines": "off",
        "max-params": "off",
        // `let release = () => {}`, until the promise hands out the real one.
        "unicorn/consistent-function-scoping": "off",
      },
    },
  ],
});
