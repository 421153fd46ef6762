// Addresses: agent › turn › call. Stable over replay and printable. Built from positions, never from a provider's ids,
// which may repeat.

export function turnAddress(runPath: string, turn: number): string {
  return `${runPath}/t${turn}`;
}

export function callAddress(turn: string, index: number): string {
  return `${turn}/c${index}`;
}
