/** For a process of a test: what others have compiled, it need not. vitest.config.ts says where that is. */
export const COMPILE_CACHE = { NODE_COMPILE_CACHE: process.env["NODE_COMPILE_CACHE"] };
