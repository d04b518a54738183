import { startPostgres } from "./start-postgres.ts";

// For a test that kills this process: it starts a server, and says where.
const { connectionString, dataFolder } = await startPostgres();
console.log(JSON.stringify({ connectionString, dataFolder }));
setInterval(() => {}, 1000);
