import type { Job } from "../inbox/job.ts";
import { startCall } from "./call.ts";
import type { WorkParts } from "./parts.ts";

/**
 * Tells the listeners of a job that is about to be marked dead, one after another. One that throws, or takes longer than `timeoutMs`,
 * does not keep the job from being marked.
 */
export async function announceDead(
  job: Job,
  timeoutMs: number,
  { onDead, log, clock }: Pick<WorkParts, "onDead" | "log" | "clock">,
): Promise<void> {
  for (const listener of onDead) {
    await new Promise<void>((resolve) => {
      startCall(() => listener(job), {
        controller: new AbortController(),
        timeoutMs,
        graceMs: 0,
        clock,
        ended: (result) => {
          if (!result.ok) log.error({ err: result.error, jobId: job.id }, "an onDead listener threw");
          resolve();
        },
        overdue: () => {
          log.error({ code: "on-dead-late", jobId: job.id, timeoutMs }, "an onDead listener took too long");
          resolve();
        },
      });
    });
  }
}
