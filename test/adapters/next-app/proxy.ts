// Next keeps a second copy of each body that passes a proxy, and puts it into the place of the request's own.
export const config = { matcher: "/behind/:path*" };

export async function proxy(request: Request): Promise<Response> {
  await request.arrayBuffer();
  return new Response(null, { headers: { "x-middleware-next": "1" } });
}
