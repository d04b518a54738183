import { runClient, type ClientWorld } from "./client-program.ts";

export default {
  async fetch(_request: Request, env: { readonly WORLD: ClientWorld }): Promise<Response> {
    return Response.json(await runClient(env.WORLD));
  },
};
