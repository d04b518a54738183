import { runClient, type ClientWorld } from "./client-program.ts";

// Node, Deno and Bun give arguments at the same place.
const world = JSON.parse(process.argv[2] ?? "") as ClientWorld;
console.log(`result ${JSON.stringify(await runClient(world))}`);
