// `source` is a text or gives one at once: a promise of one does not compile, at any mount.
import type { MountOptions, RawRequest, Receiver, ReceiverOptions } from "hookline";
import { lambdaReceiver } from "hookline/aws-lambda";
import { azureReceiver } from "hookline/azure";
import { expressReceiver } from "hookline/express";
import { fastifyReceiver } from "hookline/fastify";
import { fetchReceiver } from "hookline/fetch";
import { gcpReceiver } from "hookline/gcp";
import { honoReceiver } from "hookline/hono";
import { koaReceiver } from "hookline/koa";
import { HooklineModule } from "hookline/nest";
import { nextPagesReceiver, nextReceiver } from "hookline/next";
import { nodeReceiver } from "hookline/node";
import { workersReceiver } from "hookline/workers";

declare const receiver: Receiver<"network">;
declare const tenants: { find(host?: string): Promise<string | undefined> };

// @ts-expect-error -- a text at once
nodeReceiver(receiver, { source: async () => "crm" });
// @ts-expect-error -- not even of undefined
nodeReceiver(receiver, { source: async () => undefined });
// @ts-expect-error -- nor a promise by another name
nodeReceiver(receiver, { source: (req) => tenants.find(req.headers.host) });
// @ts-expect-error -- nor one that stands there
nodeReceiver(receiver, { source: tenants.find() });
// @ts-expect-error -- a text at once
expressReceiver(receiver, { source: async () => "crm" });
declare const rest: readonly string[];
// @ts-expect-error -- a list of a wildcard's parts is no text
expressReceiver(receiver, { source: () => rest });
// @ts-expect-error -- a text at once
koaReceiver(receiver, { source: async () => "crm" });
// @ts-expect-error -- a text at once
fastifyReceiver(receiver, { source: async () => "crm" });
// @ts-expect-error -- a text at once
fetchReceiver(receiver, { source: async () => "crm" });
// @ts-expect-error -- a text at once
nextReceiver(receiver, { source: async () => "crm" });
// @ts-expect-error -- a text at once
nextPagesReceiver(receiver, { source: async () => "crm" });
// @ts-expect-error -- a text at once
honoReceiver(receiver, { source: async () => "crm" });
// @ts-expect-error -- a text at once
workersReceiver(receiver, { source: async () => "crm" });
// @ts-expect-error -- a text at once
azureReceiver(receiver, { source: async () => "crm" });
// @ts-expect-error -- a text at once
gcpReceiver(receiver, { source: async () => "crm" });
// @ts-expect-error -- a text at once, also where AWS's event is `any`
lambdaReceiver(receiver, { source: async () => "crm" });
declare const useFactory: () => ReceiverOptions;
// @ts-expect-error -- a text at once
HooklineModule.forRootAsync({ useFactory, mount: { path: "/", source: async () => "crm" } });
// @ts-expect-error -- a text at once
export const options: MountOptions = { source: async () => "crm" };
// @ts-expect-error -- a mount of one's own waits before it hands the request in
export const raw: Partial<RawRequest> = { source: tenants.find() };
