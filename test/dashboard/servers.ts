import { request as forward, type RequestListener } from "node:http";
import { getRequestListener } from "@hono/node-server";
import express from "express";
import type { Receiver } from "hookline";
import { expressDashboard, fetchDashboard, koaDashboard, type Access } from "hookline/dashboard";
import helmet from "helmet";
import Koa from "koa";
import { serve } from "../support/http.ts";

/** How long a page waits between two looks: as short as it may. */
const refreshMs = 1_000;

/** An app with a dashboard at a path, for each mount. */
export const APPS: Record<string, (receiver: Receiver, path: string, access: () => Access) => RequestListener> = {
  "Express and helmet": (receiver, path, access) => {
    const app = express().use(helmet(), express.json());
    return path === ""
      ? app.use(expressDashboard(receiver, { access, refreshMs }))
      : app.use(path, expressDashboard(receiver, { access, refreshMs }));
  },
  Koa(receiver, path, access) {
    const answer = new Koa()
      .use(koaDashboard(receiver, { ...(path !== "" && { path }), access, refreshMs }))
      .callback();
    return (request, response) => void answer(request, response);
  },
  fetch: (receiver, path, access) => {
    const dashboard = fetchDashboard(receiver, { ...(path !== "" && { path }), access, refreshMs });
    const answer = getRequestListener(dashboard, { overrideGlobalObjects: false });
    return (request, response) => void answer(request, response);
  },
};

/** Serves an app until the test ends. @returns its URL without a path */
export async function served(app: RequestListener): Promise<string> {
  return (await serve(app)).url;
}

/** A proxy in front of it that strips a prefix, until the test ends. */
export async function stripping(prefix: string, url: string): Promise<string> {
  return served((request, response) => {
    const path = request.url ?? "";
    if (!path.startsWith(`${prefix}/`)) return void response.writeHead(404).end();
    const { method, headers } = request;
    const passed = forward(url + path.slice(prefix.length), { method, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    return void request.pipe(passed);
  });
}
