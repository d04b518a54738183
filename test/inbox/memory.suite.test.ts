import { memoryInbox } from "hookline";
import type { WorkingInbox } from "../../src/inbox/port.ts";
import { inboxSuite } from "../support/inbox-suite.ts";

inboxSuite("the memory inbox keeps what the port promises:", () => memoryInbox() as WorkingInbox<"memory">);
