import { serve } from "./serve.ts";
import { isSigned } from "./verify.ts";

// The minimum of a receiver: read, verify, parse. It stores nothing.
serve((req, res) => {
  const chunks: Buffer[] = [];
  req.on("data", (chunk: Buffer) => chunks.push(chunk));
  req.on("end", () => {
    const [only] = chunks;
    const body = chunks.length === 1 && only !== undefined ? only : Buffer.concat(chunks);
    if (isSigned(body, req.headers)) JSON.parse(body.toString());
    else res.statusCode = 401;
    res.end();
  });
});
