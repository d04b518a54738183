// The bench has its own node_modules with an older p-queue: in its folder the bare name would resolve to that one.
export { default as PQueue } from "p-queue";
