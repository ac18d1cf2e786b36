%% prices PORT UPSTREAM each|one: a line for each line; each asks an upstream, itself or through one gen_server.
-module(prices).
-behaviour(gen_server).
-export([start/1, init/1, handle_call/3, handle_cast/2]).

start([Port, Upstream, How]) ->
	spawn(fun() -> listen(list_to_integer(atom_to_list(Port)), list_to_integer(atom_to_list(Upstream)), How) end).

listen(Port, Upstream, How) ->
	{ok, _} = gen_server:start({local, prices}, ?MODULE, Upstream, []),
	{ok, Listener} = gen_tcp:listen(Port,
		[{ip, {127, 0, 0, 1}}, {active, false}, {packet, line}, {reuseaddr, true}, {backlog, 128}]),
	accept(Listener, Upstream, How).

accept(Listener, Upper, How) ->
	{ok, Socket} = gen_tcp:accept(Listener),
	Pid = spawn(fun() -> receive go -> serve(Socket, Upper, How) end end),
	gen_tcp:controlling_process(Socket, Pid),
	Pid ! go,
	accept(Listener, Upper, How).

serve(Socket, Upper, How) ->
	case gen_tcp:recv(Socket, 0) of
		{ok, _} ->
			Price = case How of
				one -> gen_server:call(prices, price, infinity);
				each -> ask(Upper)
			end,
			gen_tcp:send(Socket, [integer_to_list(Price), "\n"]),
			serve(Socket, Upper, How);
		_ -> ok
	end.

ask(Upper) ->
	{ok, Socket} = gen_tcp:connect({127, 0, 0, 1}, Upper, [binary, {active, false}]),
	ok = gen_tcp:send(Socket, "GET / HTTP/1.1\r\nHost: x\r\n\r\n"),
	{ok, Answer} = gen_tcp:recv(Socket, 0),
	gen_tcp:close(Socket),
	byte_size(Answer).

init(Upper) -> {ok, Upper}.
handle_call(price, _, Upper) -> {reply, ask(Upper), Upper}.
handle_cast(_, Upper) -> {noreply, Upper}.
