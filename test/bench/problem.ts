/** What keeps the bench from running, said in words and with what to do. */
export class BenchError extends Error {}
