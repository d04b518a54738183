/** A delivery of changes of messages. */
export function mail(ids: readonly string[], subscription = 1001): string {
  const payloads = ids.map((id) => ({ id, changeType: "created" }));
  return JSON.stringify({ subscription, accountId: 2002, resource: "/email/messages", payloads });
}

/** A body of so many bytes that is JSON, and another for every mark. */
export function longMail(bytes: number, mark = "m"): string {
  const start = `{"subscription":1001,"accountId":2002,"resource":"/email/messages","filler":"${mark}`;
  return `${start}${"x".repeat(bytes - start.length - 2)}"}`;
}
