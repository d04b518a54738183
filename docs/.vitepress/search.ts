/**
 * What people type who do not know the words of a page. A page without one is found by its own words.
 */
const SYNONYMS: Readonly<Record<string, string>> = {
  "concepts/jobs.md": "retry retries retrying backoff attempt dead letter queue failed job",
  "concepts/answers.md": "status code http response 200 422 acknowledge redelivery",
  "concepts/order-and-merging.md": "ordering fifo sequence debounce coalesce batch",
  "concepts/guarantees.md": "at least once exactly once durability data loss",
  "recipes/idempotent-effects.md": "duplicate duplicates dedupe idempotency exactly once",
  "recipes/reauthorise.md": "token expired expired token 401 unauthorized reconnect account refresh token",
  "recipes/connect-an-account.md": "oauth authorise authorize callback onboarding first sync",
  "operate/security.md": "gdpr dsgvo privacy personal data right to erasure delete a person secret rotation rotate",
  "operate/monitoring.md": "grafana prometheus alerts alerting metrics observability",
  "operate/tracing.md": "opentelemetry otel traces spans jaeger",
  "operate/storage.md": "disk space sqlite file backup restore wal vacuum",
  "operate/upgrade.md": "migration version downgrade rollback schema",
  "operate/outage.md": "incident recovery downtime disaster",
  "operate/dashboard.md": "web interface ui admin panel",
  "operate/runbook.md": "on-call troubleshooting incident",
  "deploy/kubernetes.md": "helm chart k8s kustomize ingress pod statefulset",
  "deploy/container.md": "docker image compose podman",
  "deploy/server.md": "systemd nginx vps linux zero downtime deploy graceful shutdown sigterm",
  "deploy/lambda-only.md": "cost price pricing costs serverless lambda sqs without database",
  "deploy/functions.md": "serverless faas cold start vercel netlify lambda",
  "deploy/production.md": "checklist go live launch readiness best practices",
  "deploy/many-accounts.md": "rate limit throttling scale scaling thousands quota polling",
  "deploy/postgres.md": "postgresql pg database rds aurora pgbouncer",
  "deploy/replicas.md": "high availability ha cluster horizontal scaling load balancer",
  "deploy/queues.md": "rabbitmq sqs kafka nats bullmq redis pg-boss cloudflare queue",
  "deploy/bundlers.md": "webpack esbuild rollup vite bundle",
  "deploy/gateway.md": "python php ruby go java other language http forward",
  "deploy/platforms.md": "cloud run fargate fly.io heroku render railway",
  "recipes/local-development.md": "ngrok tunnel localhost develop",
  "recipes/migrate.md": "migrate from own receiver switch existing handler",
  "recipes/testing.md": "unit test jest vitest mock",
  "recipes/several-applications.md": "multi tenant multitenancy several secrets",
  "recipes/unsubscribe.md": "stop deliveries delete subscription tombstone offboarding",
  "emulator.md": "mock server sandbox fake service",
  "client.md": "api client sdk rate limit 429",
  "sync.md": "delta sync delta token incremental mirror copy",
  "subscriptions.md": "create subscription renew plan watch",
  "benchmarks.md": "performance throughput speed capacity requests per second",
  "start/first-subscription.md": "handshake validation token verification url signing secret",
  "mounts/index.md": "raw body body parser middleware express.json",
  "concepts/assumptions.md": "undocumented unknown behaviour",
};

const escaped = (text: string): string => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");

/** The text that is searched: a page with its synonyms below its title. */
export function withSynonyms(html: string, page: string): string {
  const words = SYNONYMS[page];
  return words === undefined ? html : html.replace("</h1>", `</h1><p>${escaped(`${words} `).repeat(2)}</p>`);
}

/** Titles before texts, a page before its sections, and pages before the lists of exports, which name everything. */
export const searchOptions = {
  searchOptions: {
    fuzzy: 0.1,
    prefix: true,
    boost: { title: 6, text: 2, titles: 1 },
    boostDocument: (id: string, _term: string, stored?: Record<string, unknown>): number =>
      (id.includes("/reference/") ? 0.3 : 1) * ((stored?.["titles"] as string[] | undefined)?.length === 0 ? 4 : 1),
  },
} as const;
