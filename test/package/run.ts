import { execFile } from "node:child_process";
import { promisify } from "node:util";

const execute = promisify(execFile);

/**
 * Runs a command to its end as a user's shell would, without what this repository's own scripts set.
 *
 * @throws Error with everything the command printed, when it fails
 */
export async function run(command: string, args: readonly string[], cwd: string): Promise<string> {
  try {
    const { stdout } = await execute(command, args, { cwd, env: userEnvironment(), maxBuffer: 2 ** 26 });
    return stdout;
  } catch (error) {
    const { stdout = "", stderr = "" } = error as { stdout?: string; stderr?: string };
    throw new Error(`${[command, ...args].join(" ")} failed in ${cwd}:\n${stdout}${stderr}`, { cause: error });
  }
}

function userEnvironment(): NodeJS.ProcessEnv {
  const own =
    /^(?:NODE_OPTIONS|NODE_PATH|NODE_ENV|INIT_CWD|VITEST.*|npm_(?:package|lifecycle)_.*|npm_config_local_prefix)$/;
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !own.test(name)));
}
