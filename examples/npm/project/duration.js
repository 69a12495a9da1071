const units = { d: 86400, h: 3600, m: 60, s: 1 };

// seconds returns the number of seconds in a text such as "1h30m".
export function seconds(text) {
  const parts = [...text.matchAll(/(\d+)([dhms])/g)];
  if (parts.length === 0) {
    throw new Error(`invalid duration ${JSON.stringify(text)}`);
  }
  return parts.reduce((sum, [, number, unit]) => sum + number * units[unit], 0);
}
