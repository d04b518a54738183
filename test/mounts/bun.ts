import { serveApps } from "./serve-apps.ts";

declare const Bun: {
  serve(options: { hostname: string; port: number; fetch: (request: Request) => Promise<Response> }): {
    readonly port: number;
    stop(closesConnections: true): Promise<void>;
  };
};

serveApps((fetch) => {
  const server = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch });
  return { port: server.port, stop: () => server.stop(true) };
});
