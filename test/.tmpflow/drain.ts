import { createReceiver, memoryInbox } from "hookline";
import { createHmac } from "node:crypto";
const jobs = Number(process.argv[2] ?? 100000);
const r = createReceiver({ secret: "s", inbox: memoryInbox({ maxJobs: 1e6, maxBytes: 1e9 }), log: false });
let n = 0;
r.on("email", () => void n++);
const sign = (b: string, t: number) => createHmac("sha256", "s").update(`v0:${t}:${b}`).digest("hex");
for (let i = 0; i < jobs / 1000; i++) {
  const body = JSON.stringify({ subscription: 1, accountId: 2002, resource: "/email/messages", payloads: Array.from({ length: 1000 }, (_, k) => ({ id: `${i}-${k}`, changeType: "updated" })) });
  const t = Math.floor(Date.now() / 1000);
  const a = await r.receive({ method: "POST", url: "/", headers: { "X-Aurinko-Request-Timestamp": String(t), "X-Aurinko-Signature": sign(body, t) }, body: Buffer.from(body) } as never);
  if (a.status !== 200) throw new Error(String(a.status));
}
const cpu = process.cpuUsage();
const t0 = performance.now();
await r.start(); 
while (n < jobs) await new Promise((x) => setTimeout(x, 5));
const used = process.cpuUsage(cpu);
console.log(JSON.stringify({ jobs: n, ms: Math.round(performance.now() - t0), cpuMs: Math.round((used.user + used.system) / 1000) }));
await r.close();
process.exit(0);
