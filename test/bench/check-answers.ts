import { request } from "node:http";
import type { Contender } from "./contenders.ts";
import { signedRequest, type SignedRequest } from "./requests.ts";

/**
 * Sends one signed request and one that is signed with another secret: a server that refuses the first one, or accepts the
 * second, is wrong, however fast.
 * @throws Error with the wrong answer
 */
export async function checkAnswers({ name, signing, open }: Contender, port: number): Promise<void> {
  const atMs = Date.now();
  const good = await statusOf(port, signedRequest(signing, 1, { atMs }));
  if (good !== 200) throw new Error(`${name} answers a signed request ${good}, expected 200.`);
  if (open === true) return;
  const forged = await statusOf(port, signedRequest(signing, 2, { atMs, secret: "bm90LXRoZS1zZWNyZXQ=" }));
  if (forged < 400 || forged > 499) throw new Error(`${name} answers a forged request ${forged}, expected a refusal.`);
}

function statusOf(port: number, { path, headers, body }: SignedRequest): Promise<number> {
  return new Promise((resolve, reject) => {
    const options = { port, path, method: "POST", headers: { ...headers, "Content-Length": Buffer.byteLength(body) } };
    request({ host: "127.0.0.1", agent: false, ...options }, (res) => {
      res.resume().on("end", () => resolve(res.statusCode ?? 0));
    })
      .on("error", reject)
      .end(body);
  });
}
