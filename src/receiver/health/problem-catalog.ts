import { REFUSALS } from "../../ingest/responses.ts";

/** What can be wrong with a receiver, by how much it hurts: first what a restart can help, then what makes deliveries get 503. */
export type ProblemCode =
  | "handlers-jammed"
  | "inbox-hopeless"
  | "closing"
  | "secret-missing"
  | "inbox-opening"
  | "inbox-unavailable"
  | "inbox-full"
  | "disk-low"
  | "disk-full"
  | "inbox-corrupt"
  | "inbox-not-ready"
  | "storage-failing"
  | "body-consumed"
  | "body-too-large"
  | "content-encoding"
  | "intake-full"
  | "inbox-too-small"
  | "secret-lookup-failing"
  | "internal"
  | "nothing-verifies"
  | "clock-suspect"
  | "brake-empty"
  | "subscription-errored"
  | "inbox-silent"
  | "inbox-reopened"
  | "inbox-unwatched"
  | "hard-linked"
  | "work-taken"
  | "may-freeze"
  | "start-failed"
  | "nobody-works"
  | "lag"
  | "handlers-stuck"
  | "lanes-blocked"
  | "dead-letters"
  | "unhandled";

/** Every problem with its meaning and its fix. */
export const PROBLEMS: Readonly<Record<ProblemCode, { readonly meaning: string; readonly fix: string }>> = {
  "handlers-jammed": {
    meaning: "More handlers than `maxStuck` ignore their signal and keep their slots: nothing new is begun.",
    fix: "Restart the process; then hand `ctx.signal` on to whatever the handlers wait for.",
  },
  "inbox-hopeless": {
    meaning: "The inbox fails as soon as it is begun anew, again and again: deliveries get 503.",
    fix: "Restart the process; if that does not help, look at the disk, and at the cause in the log.",
  },
  closing: {
    meaning: "The receiver is closing or closed: deliveries get 503.",
    fix: "Nothing to do: they are redelivered.",
  },
  "secret-missing": {
    meaning: "There is no signing secret: deliveries get 503.",
    fix: REFUSALS["secret-missing"].fix,
  },
  "inbox-opening": {
    meaning: "The inbox is not open yet.",
    fix: "Nothing to do if it opens within seconds; else look at the disk or the server that it stands on.",
  },
  "inbox-unavailable": {
    meaning: "The inbox cannot be opened: deliveries get 503. Each health check tries again.",
    fix: "See the cause in the log.",
  },
  "inbox-full": {
    meaning: "The inbox is full: deliveries get 503.",
    fix: "Handlers are slower than the stream, or blocked: look at the other problems; or take a durable inbox.",
  },
  "disk-low": {
    meaning: "The disk of the inbox is nearly full: deliveries get 503, what is stored is still handled.",
    fix: "Make room on it, or lower `minFreeDiskBytes`: deliveries are taken again by themselves.",
  },
  "disk-full": {
    meaning: "The disk of the inbox is full: deliveries get 503, and what handlers did cannot be written down.",
    fix: "Make room on it: what is stored is not lost, and the inbox goes on by itself.",
  },
  "inbox-corrupt": {
    meaning: "The file of the inbox is damaged: deliveries get 503, and the file is left as it is.",
    fix: 'Stop all processes on it and keep a copy of it and of the files beside it; then `sqlite3 inbox.db ".recover" >new.sql` and `sqlite3 new.db <new.sql`, put new.db in its place without the old -wal and -shm, or restore a backup.',
  },
  "inbox-not-ready": {
    meaning: "The inbox can keep nothing: deliveries get 503.",
    fix: "Look at the disk or the server that it stands on.",
  },
  "storage-failing": {
    meaning: "The last delivery that came could not be stored: it got 503, and comes again.",
    fix: "See the cause in the log; nothing was acknowledged.",
  },
  "body-consumed": {
    meaning: "Within the last 10 minutes a parser read bodies before the mount: those deliveries get 500 for ever.",
    fix: REFUSALS["body-consumed"].fix,
  },
  "body-too-large": {
    meaning: "Within the last 10 minutes bodies were over `maxBodyBytes`: those deliveries get 413 for ever.",
    fix: "Raise `maxBodyBytes`, and the limit of a proxy in front, if there is one.",
  },
  "content-encoding": {
    meaning: "Within the last 10 minutes bodies were compressed: those deliveries get 415 for ever.",
    fix: REFUSALS["content-encoding"].fix,
  },
  "intake-full": {
    meaning: "Within the last 10 minutes bodies in flight held `maxInFlightBytes`: others got 503.",
    fix: REFUSALS["intake-full"].fix,
  },
  "inbox-too-small": {
    meaning: "Within the last 10 minutes deliveries found no room in the inbox: those got 503.",
    fix: "Give it more room, such as `maxBytes`, or take a durable inbox; look at what keeps handlers from their work.",
  },
  "secret-lookup-failing": {
    meaning: "Within the last 10 minutes the look-up of the secret failed or was late: those deliveries got 503.",
    fix: "See the cause in the log; a slow one needs a longer `secretTimeoutMs`.",
  },
  internal: {
    meaning: "Within the last 10 minutes something in this receiver's set-up threw: those deliveries got 503.",
    fix: "See the cause in the log; nothing was acknowledged.",
  },
  "nothing-verifies": {
    meaning: "Within the last 10 minutes requests were refused for their signature, and none was right.",
    fix: "Check the secret, and that no proxy changes headers or body; `hookline explain` names the mistake.",
  },
  "clock-suspect": {
    meaning: "Within the last 10 minutes several requests were too old or from the future.",
    fix: "Set this machine's clock; if it is right, the requests are replays, or older than `maxAgeSeconds` allows.",
  },
  "brake-empty": {
    meaning:
      "Within the last hour more than `gate.maxUnsubscribesPerHour` subscriptions were to be unsubscribed: the rest were not.",
    fix: "Look for a bug in the gate or a handler first; then raise it, or call `receiver.unsubscribe`, which is not braked.",
  },
  "subscription-errored": {
    meaning:
      "A subscription is in trouble since its `lifecycle.error`: changes may not be told until `lifecycle.active` comes.",
    fix: "Have the account authorised again; or unsubscribe it.",
  },
  "inbox-silent": {
    meaning: "The inbox does not say how much it holds: the numbers here are 0.",
    fix: "See the cause in the log.",
  },
  "inbox-reopened": {
    meaning:
      "Within the last hour the file of the inbox was opened anew: a write failed, its thread ended, or it was replaced.",
    fix: "Look at the disk and at the cause in the log; what was not certain got 503 and comes again.",
  },
  "inbox-unwatched": {
    meaning: "Files have no lasting numbers on this file system: that the inbox is deleted or replaced goes unseen.",
    fix: "Put the inbox on a local disk with an ordinary file system.",
  },
  "hard-linked": {
    meaning:
      "The file of the inbox has several names (hard links): a process that opens it by another does not know of this one, and the next start refuses it.",
    fix: "Find the others with `find -samefile` and remove them; for backups take `VACUUM INTO`, not `cp -al`.",
  },
  "work-taken": {
    meaning: "Within the last hour another process took over the work on the inbox while this one had it.",
    fix: "Nobody may remove or replace the files beside the inbox while it is in use, `inbox.db-lock` too; all processes on it run on one machine.",
  },
  "may-freeze": {
    meaning: "This platform may freeze or end the process after the answer, and what is stored here goes with it.",
    fix: 'Mount with `{ answer: "after-handlers", timeoutMs }`, or take `forwardInbox` and let its queue\'s consumer call `receiver.handle`.',
  },
  "start-failed": {
    meaning: "This process only receives: its last `start()` rejected.",
    fix: "See what it rejected with, and call `receiver.start()` again: what is stored until then waits.",
  },
  "nobody-works": {
    meaning: "Deliveries are stored, and nobody handles them: this process only receives.",
    fix: "Call `receiver.start()` here, or start a process that works on this inbox.",
  },
  lag: {
    meaning: "The oldest waiting job was received more than 5 minutes ago.",
    fix: "Raise `concurrency`, make handlers faster, or take more out of one call with `.changes`; a blocked lane needs its handler mended.",
  },
  "handlers-stuck": {
    meaning: "Handlers ignore their signal: each keeps its lane until it ends.",
    fix: "Hand `ctx.signal` on to whatever they wait for, or raise their `timeoutMs`.",
  },
  "lanes-blocked": {
    meaning: "A job waits for its next attempt, and what came after it in its lane waits too.",
    fix: "Look at the handler's error in the log; throw `GiveUp` for what cannot get better.",
  },
  "dead-letters": {
    meaning: "Jobs failed for good.",
    fix: "Mend the handler, then replay them with `receiver.jobs.replay`, or drop them with `receiver.jobs.drop`.",
  },
  unhandled: {
    meaning: "Events came that nobody handles.",
    fix: 'Register `receiver.on("<name>", handler)`: what the inbox keeps of them is handled after the next start.',
  },
};
