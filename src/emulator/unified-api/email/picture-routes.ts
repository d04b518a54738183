import type { EmulatedService } from "../../emulated-service.ts";
import { ApiError, type Route } from "../../http/routes.ts";

/** A transparent GIF of one pixel. */
const PICTURE = Buffer.from("R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7", "base64");

/** The picture in a tracked message: whoever loads it has opened the message. */
export function pictureRoutes({ accounts }: EmulatedService): readonly Route[] {
  return [
    {
      method: "GET",
      path: "/open/:code",
      run(context) {
        const code = context.req.param("code") ?? "";
        for (const { tracking } of accounts.values()) {
          const tracked = tracking.find(code);
          if (tracked === undefined) continue;
          tracking.pictureLoaded(tracked, { userAgent: context.req.header("user-agent"), remoteAddr: "127.0.0.1" });
          return context.body(PICTURE, 200, { "Content-Type": "image/gif", "Cache-Control": "no-store" });
        }
        throw new ApiError(404, "not_found", "There is no tracked message with this code.");
      },
    },
  ];
}
