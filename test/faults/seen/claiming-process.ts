import { pgSeen } from "hookline/postgres";
import { redisSeen } from "hookline/redis";
import { Redis } from "ioredis";
import { existsSync, readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";

// Claims the keys of all rounds beside other processes, once a file is there, and prints the rounds that it got. Without a file it claims one
// key, and dies.
const [url = "", rounds = "0", file] = process.argv.slice(2);
const LEASE_MS = 600_000;

const redis = url.startsWith("redis:") ? new Redis(url) : undefined;
const pool = redis === undefined ? new pg.Pool({ connectionString: url, max: 1 }) : undefined;
const store = redis === undefined ? pgSeen(pool!) : redisSeen(redis);

if (file === undefined) {
  console.log(await store.claim("crash", Number(rounds)));
  process.kill(process.pid, "SIGKILL");
}
await store.claim("warm", LEASE_MS);
console.log("ready");
while (!existsSync(file!)) await sleep(5);
// All begin at the moment that the file names.
while (Date.now() < Number(readFileSync(file!, "utf8")));
const mine: number[] = [];
for (let round = 0; round < Number(rounds); round += 1)
  if ((await store.claim(`round-${round}`, LEASE_MS)) === "mine") mine.push(round);
console.log(`got ${JSON.stringify(mine)}`);
redis?.disconnect();
await pool?.end();
