import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Runs the files that start programs before the others: they take longest. If one ran last, the other workers would be idle. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    // The empty text is part of every path.
    const rank = ({ moduleId }: TestSpecification) =>
      ['/test/acceptance/', '/src/platform/', ''].findIndex((folder) => moduleId.includes(folder));
    return (await super.sort(files)).sort((a, b) => rank(a) - rank(b));
  }
}
