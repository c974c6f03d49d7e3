/** Makes the table and the list of conditions for docs/scaling.md. @param results - the text of bench/RESULTS.md. */
export function resultsTable(results: string): string {
  const conditions: string[] = [];
  const rows: string[] = [];
  let section = '';
  let columns: number[] = [];
  for (const line of results.split('\n')) {
    const cells = line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim());
    if (line.startsWith('## ')) section = `${line.slice(3)}: `;
    else if (line.startsWith('At ')) conditions.push(`- ${section}${line}`);
    else if (cells[0] === 'workload') {
      const share = cells.includes('a/c') ? 'a/c' : 'a/d';
      columns = ['workload', 'a /s', share, 'p99 of a, ms'].map((name) => cells.indexOf(name));
    } else if (cells.length > 0 && cells[0] !== '---' && !columns.includes(-1)) {
      rows.push(`| ${columns.map((column) => cells[column]).join(' | ')} |`);
    }
  }
  const head = [
    '| call | requests a second | rate relative to a plain handler | 99th percentile, ms |',
    '|---|--:|--:|--:|',
  ];
  return [...head, ...rows, '', ...conditions].join('\n');
}
