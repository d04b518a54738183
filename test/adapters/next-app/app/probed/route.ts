import { nextReceiver } from "hookline/next";
import { probed } from "../../probed.ts";

const handle = (request: Request): Promise<Response> => {
  const { receiver, options } = probed();
  return nextReceiver(receiver, options)(request);
};

// All of them, so that it is the receiver that refuses.
export { handle as DELETE, handle as GET, handle as HEAD, handle as OPTIONS };
export { handle as PATCH, handle as POST, handle as PUT };
