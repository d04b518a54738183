import { toFunctionListener } from "./gcp.ts";
import { serve } from "./serve.ts";
import { isFresh, isSigned } from "./verify.ts";

serve(
  // The framework has parsed the body.
  toFunctionListener(({ rawBody = Buffer.alloc(0), headers }, res) => {
    res.status(isFresh(headers) && isSigned(rawBody, headers) ? 200 : 401).end();
  }),
);
