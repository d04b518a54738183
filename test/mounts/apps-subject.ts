import type { HttpSubject } from "../suites/http/http-subject.ts";

/** Mounts in a process that runs serve-apps.ts at this URL. */
export function appsSubject(control: () => Promise<string>, rest: Partial<HttpSubject> = {}): HttpSubject {
  return {
    async serve(app) {
      const url = await control();
      const port = await (await ask(url, { method: "POST", body: JSON.stringify(app) })).text();
      return {
        url: `http://127.0.0.1:${port}/`,
        shutDown: async () => void (await ask(url + port, { method: "PUT" })),
        close: async () => void (await ask(url + port, { method: "DELETE" })),
      };
    },
    ...rest,
  };
}

async function ask(url: string, init: RequestInit): Promise<Response> {
  const response = await fetch(url, init);
  if (!response.ok) throw new Error(`The process answered ${response.status}: ${await response.text()}`);
  return response;
}
