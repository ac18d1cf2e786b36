run lambda { |_|
  finish = Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID) + 0.005
  (1..100).sum { |x| x * x } while Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID) < finish
  [200, { 'Content-Type' => 'text/plain' }, ['ok']]
}
