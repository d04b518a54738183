import { probe, probed } from "../../probed.ts";

/** Takes the app of the next case. */
export async function POST(request: Request): Promise<Response> {
  probe((await request.json()) as Parameters<typeof probe>[0]);
  return Response.json({});
}

/** Closes the receiver of this case. */
export async function DELETE(): Promise<Response> {
  return Response.json(await probed().receiver.close());
}
