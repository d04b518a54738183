import { nextPagesReceiver, type NextPagesHandler } from "hookline/next";
import { probed } from "../../probed.ts";

export const config = { api: { bodyParser: false } };

const handle: NextPagesHandler = (req, res) => {
  const { receiver, options } = probed();
  return nextPagesReceiver(receiver, options)(req, res);
};

export default handle;
