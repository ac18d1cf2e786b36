-- What wrk has measured, in the words of the other loads.
done = function(summary, latency, requests)
  local errors = summary.errors
  local p50, p99 = latency:percentile(50) * 1000, latency:percentile(99) * 1000
  io.write(string.format('{"requests": %d, "errors": %d, "served_p50_ns": %d, "served_p99_ns": %d}\n',
    summary.requests, errors.connect + errors.read + errors.write + errors.status + errors.timeout, p50, p99))
end
