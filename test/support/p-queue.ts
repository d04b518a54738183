// The bench has packages of its own, among them an older p-queue: from its folder the bare name would find that one.
export { default as PQueue } from "p-queue";
