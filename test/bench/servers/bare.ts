import { serve } from "./serve.ts";

// What Node itself takes for a request and an answer.
serve((_req, res) => {
  res.end();
});
