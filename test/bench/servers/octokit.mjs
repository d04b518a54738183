import { createNodeMiddleware, Webhooks } from "@octokit/webhooks";
import { SECRET } from "../signing.ts";
import { serve } from "./serve.ts";

const webhooks = new Webhooks({ secret: SECRET });
webhooks.on("push", () => {});

const handle = createNodeMiddleware(webhooks);
serve((req, res) => void handle(req, res));
