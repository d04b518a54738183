// Where the suite asks a mount with the option `path`.
export { DELETE, GET, HEAD, OPTIONS, PATCH, POST, PUT } from "../../probed/route.ts";
