import { serve } from "./serve.ts";

// The cost of a request and an answer in Node itself.
serve((_req, res) => {
  res.end();
});
