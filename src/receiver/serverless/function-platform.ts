/** Which variable tells of which platform that may freeze or end a process after the answer, from its own documentation. */
const PLATFORMS: readonly (readonly [variable: string, platform: string])[] = [
  ["AWS_LAMBDA_FUNCTION_NAME", "AWS Lambda"],
  ["VERCEL", "Vercel"],
  ["NETLIFY", "Netlify"],
  ["FUNCTIONS_WORKER_RUNTIME", "Azure Functions"],
  ["FUNCTION_TARGET", "Google Cloud Functions"],
  ["K_SERVICE", "Google Cloud Run"],
  ["DENO_DEPLOYMENT_ID", "Deno Deploy"],
];

const WORKERS = "Cloudflare Workers";

/** Whether a request's I/O ends with it there, and others that wait for it hang. @see https://developers.cloudflare.com/workers/observability/errors/ */
export function keepsRequestsApart(platform: string | undefined): boolean {
  return platform === WORKERS;
}

/** The function platform that this process runs on, if any. */
export function functionPlatform(
  env: Readonly<Record<string, string | undefined>>,
  userAgent: string | undefined,
): string | undefined {
  // Workers have no such variables, and a navigator instead.
  if (userAgent === "Cloudflare-Workers") return WORKERS;
  return PLATFORMS.find(([variable]) => Boolean(env[variable]))?.[1];
}
