/**
 * Who has handlers. While a new version is deployed, workers differ: what one of them has no handler for is left to one that has.
 * @param ident the quoted name of the schema
 */
export function handlerFunctionsOf(ident: string): string {
  return [heir, passOn, isUnseen].map((body) => body(ident)).join("\n");
}

/** A live worker that has a handler: of several the one with the fewest shards, then the newest. */
function heir(ident: string): string {
  return /* sql */ `
create or replace function ${ident}.heir(me bigint, for_consumer text, of_type text) returns bigint language sql stable as $$
  select w.id from ${ident}.worker as w where w.alive and w.id <> me and w.handled->for_consumer ? of_type
  order by (select count(*) from ${ident}.shard as s where s.owner = w.id), w.id desc limit 1
$$;`;
}

/**
 * Gives shards of a worker to others, each by [shard, worker]. \`refused\` keeps it from taking them back while another lives. A shard is
 * free, and refused by none, where the other one has died meanwhile.
 */
function passOn(ident: string): string {
  return /* sql */ `
create or replace function ${ident}.pass_on(me bigint, passed jsonb) returns void language sql as $$
  update ${ident}.shard as s set owner = other.id,
    refused = array(select w.id from ${ident}.worker as w where w.alive and w.id = any (s.refused || me) and w.id <> other.id)
  from jsonb_array_elements(passed) as p left join ${ident}.worker as other on other.id = (p->>1)::bigint and other.alive
  where s.id = (p->>0)::smallint and s.owner = me and s.id in (
    select mine.id from ${ident}.shard as mine where mine.owner = me and passed @> jsonb_build_array(jsonb_build_array(mine.id)) for update skip locked)
$$;`;
}

/** Whether a worker with other handlers came that \`me\` has not seen yet: the last one that it saw is \`seen\`. */
function isUnseen(ident: string): string {
  return /* sql */ `
create or replace function ${ident}.is_unseen(me bigint, seen bigint) returns boolean language sql stable as $$
  select exists (select from ${ident}.worker as w where w.id > seen and w.alive and w.handled is distinct from (select one.handled from ${ident}.worker as one where one.id = me))
$$;`;
}
