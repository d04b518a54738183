import type { OpenQueue } from "../postgres/queue.ts";
import { connectionOfServer, serve } from "./serve.ts";
import { isSigned } from "./verify.ts";

// The hand-written way with a queue: each verified request is a job, durable before the answer, and the same process works on them.
const [file = ""] = process.argv.slice(2);
const { default: open } = (await import(`./${file}`)) as { readonly default: OpenQueue };
const queue = await open(connectionOfServer());

let stored = 0;
let handled = 0;
let most = 0;
await queue.work(() => void (handled += 1));

serve(
  (req, res) => {
    const chunks: Buffer[] = [];
    req.on("data", (chunk: Buffer) => chunks.push(chunk));
    req.on("end", () => {
      const body = Buffer.concat(chunks);
      if (!isSigned(body, req.headers)) {
        res.writeHead(401).end();
        return;
      }
      const { payloads } = JSON.parse(body.toString()) as { readonly payloads: readonly { readonly id: string }[] };
      // pg-boss needs the key of a record for its order. The others have none.
      const job = { index: stored, lane: payloads[0]?.id ?? "", body: body.toString() };
      queue.insert(queue.prepare([job])).then(
        () => {
          stored += 1;
          most = Math.max(most, stored - handled);
          res.end();
        },
        () => res.writeHead(503).end(),
      );
    });
  },
  () => {
    const backlog = most;
    most = 0;
    return { backlog, waiting: stored - handled };
  },
);
