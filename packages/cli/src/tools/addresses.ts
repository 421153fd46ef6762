// The addresses of the public internet. Every other one (this machine, its network, a number in the disguise of another
// address) is closed to models.

import { BlockList, isIP, isIPv4 } from "node:net";

const inner = new BlockList();
for (const [net, prefix] of [
  ["0.0.0.0", 8],
  ["10.0.0.0", 8],
  ["100.64.0.0", 10],
  ["127.0.0.0", 8],
  ["169.254.0.0", 16],
  ["172.16.0.0", 12],
  ["192.0.0.0", 24],
  ["192.0.2.0", 24],
  ["192.88.99.0", 24],
  ["192.168.0.0", 16],
  ["198.18.0.0", 15],
  ["198.51.100.0", 24],
  ["203.0.113.0", 24],
  ["224.0.0.0", 4],
  ["240.0.0.0", 4],
] as const) {
  inner.addSubnet(net, prefix, "ipv4");
}
for (const [net, prefix] of [
  ["fc00::", 7],
  ["fe80::", 10],
  ["fec0::", 10],
  ["ff00::", 8],
  ["100::", 64],
  ["2001::", 23],
  ["2001:db8::", 32],
  ["3fff::", 20],
  ["5f00::", 16],
] as const) {
  inner.addSubnet(net, prefix, "ipv6");
}

/** Addresses of IPv6 that carry one of IPv4 inside, and at which of their eight words it begins. */
const carriers: readonly { readonly is: (words: readonly number[]) => boolean; readonly at: number }[] = [
  // ::a.b.c.d (:: and ::1 too), ::ffff:a.b.c.d, ::ffff:0:a.b.c.d
  { is: (w) => w.slice(0, 4).every((word) => word === 0), at: 6 },
  // NAT64: 64:ff9b::a.b.c.d and 64:ff9b:1::/48
  { is: (w) => w[0] === 0x64 && w[1] === 0xff9b, at: 6 },
  // 6to4
  { is: (w) => w[0] === 0x2002, at: 1 },
];

export function isPublic(address: string): boolean {
  if (isIPv4(address)) return !inner.check(address, "ipv4");
  if (isIP(address) !== 6) return false;
  const words = wordsOf(address);
  if (words === undefined || inner.check(words.map((word) => word.toString(16)).join(":"), "ipv6")) return false;
  const carrier = carriers.find(({ is }) => is(words));
  if (carrier === undefined) return true;
  const [high = 0, low = 0] = words.slice(carrier.at);
  return isPublic([high >> 8, high & 255, low >> 8, low & 255].join("."));
}

/** The eight words of an address of IPv6, however it is written. */
function wordsOf(address: string): number[] | undefined {
  const [bare = ""] = address.split("%");
  const dotted = bare.replace(/(\d+)\.(\d+)\.(\d+)\.(\d+)$/, (_, a, b, c, d) =>
    [Number(a) * 256 + Number(b), Number(c) * 256 + Number(d)].map((word) => word.toString(16)).join(":"),
  );
  const [head = "", tail] = dotted.split("::");
  const read = (text: string) => (text === "" ? [] : text.split(":").map((word) => Number.parseInt(word, 16)));
  const first = read(head);
  const last = tail === undefined ? [] : read(tail);
  const words = tail === undefined ? first : [...first, ...Array(8 - first.length - last.length).fill(0), ...last];
  return words.length === 8 && words.every((word) => word >= 0 && word <= 0xffff) ? words : undefined;
}
