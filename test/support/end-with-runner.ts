import './processes.ts'; // Its guardian ends this worker when the runner has ended, also if the tests start no program.
