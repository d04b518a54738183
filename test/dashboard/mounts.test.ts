import { createServer } from "node:http";
import { Router } from "@koa/router";
import express from "express";
import type { Receiver } from "hookline";
import { expressDashboard, koaDashboard, nodeDashboard } from "hookline/dashboard";
import Koa from "koa";
import { describe, expect, test } from "vitest";
import { send } from "../support/http.ts";
import { served } from "./servers.ts";
import { SAME_ORIGIN, troubled } from "./support.ts";

const access = () => ({ change: true });
const change = { headers: SAME_ORIGIN, body: '{"filter":{}}' };

describe("other paths go on to the app", () => {
  test.each<[string, (receiver: Receiver) => Promise<string>]>([
    [
      "Express",
      (receiver) =>
        served(
          express()
            .use(expressDashboard(receiver, { access }))
            .use((_, res) => void res.send("app")),
        ),
    ],
    [
      "Koa",
      (receiver) => {
        const app = new Koa().use(koaDashboard(receiver, { access })).use((ctx) => void (ctx.body = "app"));
        const answer = app.callback();
        return served((request, response) => void answer(request, response));
      },
    ],
  ])("%s", async (_, serving) => {
    const url = await serving(await troubled());
    expect(await send(`${url}/shop`, { method: "GET" })).toMatchObject({ status: 200, body: "app" });
    expect(await send(`${url}/lanes`, { method: "GET" })).toMatchObject({
      status: 200,
      body: expect.stringContaining("<title>Hookline</title>") as string,
    });
  });
});

test("node answers 404 for what is not below its path", async () => {
  const url = await served(nodeDashboard(await troubled(), { access, path: "/admin/" }));
  expect(await send(`${url}/`, { method: "GET" })).toMatchObject({ status: 404 });
  expect(await send(`${url}/administrator`, { method: "GET" })).toMatchObject({ status: 404 });
  expect(await send(`${url}/admin`, { method: "GET" })).toMatchObject({ status: 302, headers: { location: "admin/" } });
  expect(await send(`${url}/admin/`, { method: "HEAD" })).toMatchObject({ status: 200, body: "" });
  expect(await send(`${url}/admin/api/now`, { method: "GET", path: `${url}/admin/api/now` })).toMatchObject({
    status: 200,
  });
  expect(await send(`${url}/admin/api/now`, { method: "TRACE" })).toMatchObject({ status: 405 });
});

test("a change is read whether or not a parser was first, and a router strips its path", async () => {
  const receiver = await troubled();
  const dashboard = expressDashboard(receiver, { access });
  const urls = [
    await served(express().use("/a", dashboard)),
    await served(express().use(express.json()).use("/a", dashboard)),
    await served(
      express()
        .use(express.text({ type: "*/*" }))
        .use("/a", express.Router().use("/", dashboard)),
    ),
    await served(
      express()
        .use(express.raw({ type: "*/*" }))
        .use("/a", dashboard),
    ),
  ];
  for (const url of urls) {
    expect(await send(`${url}/a/api/replay`, change)).toMatchObject({ status: 200, body: '{"count":6}' });
    expect(await send(`${url}/a`, { method: "GET" })).toMatchObject({ status: 302, headers: { location: "a/" } });
  }
});

test("a long body is not read to its end", async () => {
  const url = await served(nodeDashboard(await troubled(), { access }));
  const long = `{"filter":{"type":"${"x".repeat(70_000)}"}}`;
  expect(await send(`${url}/api/drop`, { headers: SAME_ORIGIN, body: long })).toMatchObject({ status: 400 });
});

test("Koa's router and its parser", async () => {
  const router = new Router();
  const receiver = await troubled();
  const dashboard = koaDashboard(receiver, { access, path: "/a" });
  const answer = new Koa().use(router.routes()).use(dashboard).callback();
  const server = createServer((request, response) => void answer(request, response));
  const url = await served((request, response) => void server.emit("request", request, response));
  expect(await send(`${url}/a/api/replay`, change)).toMatchObject({ status: 200, body: '{"count":6}' });
});
