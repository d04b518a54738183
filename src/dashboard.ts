// A receiver, looked at in a browser: problems, lanes, dead letters, subscriptions and gaps.
export { expressDashboard, fetchDashboard, koaDashboard, nodeDashboard } from "./dashboard/mounts.ts";
export type { Access, DashboardOptions } from "./dashboard/dashboard-options.ts";
