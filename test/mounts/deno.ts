import { serveApps } from "./serve-apps.ts";

declare const Deno: {
  serve(
    options: { hostname: string; port: number; onListen: () => void },
    fetch: (request: Request) => Promise<Response>,
  ): { readonly addr: { readonly port: number }; shutdown(): Promise<void> };
};

serveApps((fetch) => {
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, fetch);
  return { port: server.addr.port, stop: () => server.shutdown() };
});
