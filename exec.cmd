@rem The scripts of package.json begin with "exec", so that npm and the service share one process on Unix.
@rem cmd.exe does not know the word and finds this file, which runs the command behind it.
@%*
